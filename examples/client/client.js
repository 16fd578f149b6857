// A client of an accelerator, written from two pages of the documentation: the packet interface, and registers.
//
// node client.js MANIFEST BLOCK TASKS: BLOCK is a program that has the accelerator at its standard input and
// output. TASKS is a file in JSON, a list of {function, arrays}. Prints the answers, and their packets.
"use strict";
const fs = require("fs");
const readline = require("readline");
const { spawn } = require("child_process");

const HEADER_BITS = 32n;
const MAGIC = 0x000, IDENTITY = 0x020, REQUESTS = 0x090, ANSWERS = 0x098;
const SYMMETRIC = ["M", "Minv"];

// The array and the index in a word's name, such as h, tau[1] or minv.Minv[1,0].
function element(name) {
    const [, array, index] = /([A-Za-z_]\w*)(?:\[([\d,]+)\])?$/.exec(name);
    return [array, index?.split(",").map(Number) ?? []];
}

function setElement(arrays, array, index, value) {
    let row = (arrays[array] ??= []);
    for (const k of index.slice(0, -1)) row = row[k] ??= [];
    row[index.at(-1)] = value;
}

class Packets {
    constructor(manifest) {
        if (manifest.format !== 3) throw new Error(`the manifest has format ${manifest.format}`);
        this.manifest = manifest;
        this.stream = manifest.stream;
        this.names = new Map(Object.entries(this.stream.functions).map(([name, code]) => [code, name]));
    }

    // The integer of a word for a value in radians, metres, ...
    integer(word, value) {
        const inUnit = word.unit === "turn" ? value / (2 * Math.PI) : value;
        const number = BigInt(Math.floor(inUnit * 2 ** word.binary_point + 0.5));
        const width = this.stream.slots[word.slot];
        if ("lowest" in word && BigInt.asIntN(width, number) !== number)
            throw new RangeError(`${word.name}: ${value} does not fit its slot`);
        return number;
    }

    // The bytes of a request in hexadecimal digits.
    request(name, tag, arrays) {
        const words = this.manifest.inputs[name];
        const numbers = Array(Math.max(0, ...words.map((word) => word.slot + 1))).fill(0n);
        for (const word of words) {
            const [array, index] = element(word.name);
            numbers[word.slot] = this.integer(word, index.reduce((row, k) => row[k], arrays[array]));
        }
        const code = this.stream.functions[name];
        let bits = BigInt(tag | ((code & 31) << 16) | ((code >> 5) << 22)), place = HEADER_BITS;
        numbers.forEach((number, slot) => {
            bits |= BigInt.asUintN(this.stream.slots[slot], number) << place;
            place += BigInt(this.stream.slots[slot]);
        });
        const beat = BigInt(this.stream.tdata_width), bytes = Number(((place + beat - 1n) / beat) * beat) / 8;
        return Buffer.from(bits.toString(16).padStart(2 * bytes, "0"), "hex").reverse().toString("hex");
    }

    // The time step of the build, or that of a task as its word has it.
    timeStep(name, times, arrays) {
        if (times !== "h") return times;
        const word = this.manifest.inputs[name].find((input) => input.name === "h");
        return Number(this.integer(word, arrays.h)) * 2 ** -word.binary_point;
    }

    // The tag, the function, the status and the arrays of an answer; `tasks` have the arrays of requests, by tag.
    answer(hex, tasks) {
        const bits = BigInt("0x" + Buffer.from(hex, "hex").reverse().toString("hex"));
        const header = Number(bits & 0xffffffffn);
        const name = this.names.get(((header >> 16) & 31) | (((header >> 22) & 1) << 5)), arrays = {};
        const asked = tasks[header & 0xffff].arrays;
        let place = HEADER_BITS;
        for (const word of this.manifest.outputs[name]) {
            const number = Number(BigInt.asIntN(word.width, bits >> place)) * 2 ** -word.binary_point;
            const value = word.unit === "turn" ? number * 2 * Math.PI : number;
            for (const other of [{ name: word.name, negative: false }, ...(word.also ?? [])]) {
                const [array, index] = element(other.name);
                const mirrors = SYMMETRIC.includes(array) ? [index, index.toReversed()] : [index];
                const factor = "times" in other ? this.timeStep(name, other.times, asked) : 1;
                const result = (other.plus ?? 0) + factor * (other.negative ? -value : value);
                for (const at of mirrors) setElement(arrays, array, at, result);
            }
            place += BigInt(word.width);
        }
        return { tag: header & 0xffff, function: name, status: header >>> 24, arrays };
    }
}

class Block {
    constructor(program) {
        this.process = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
        this.lines = readline.createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    }
    async ask(command) {
        this.process.stdin.write(command + "\n");
        const { value, done } = await this.lines.next();
        if (done) throw new Error(`the accelerator ended at: ${command}`);
        return value;
    }
    async register(address) {
        return parseInt(await this.ask(`read ${address.toString(16)}`), 16);
    }
    send(packet) {
        this.process.stdin.write(`send ${packet}\n`);
    }
}

async function main(manifestFile, program, tasksFile) {
    const manifest = JSON.parse(fs.readFileSync(manifestFile)), tasks = JSON.parse(fs.readFileSync(tasksFile));
    const packets = new Packets(manifest), block = new Block(program);
    if ((await block.register(MAGIC)) !== Buffer.from("RBDH").readUInt32LE()) throw new Error("no accelerator");
    let identity = "";
    for (let k = 0; k < 8; ++k) identity += (await block.register(IDENTITY + 4 * k)).toString(16).padStart(8, "0");
    if (identity !== manifest.identity) throw new Error("the accelerator has another design");
    const requests = tasks.map((task, tag) => packets.request(task.function, tag, task.arrays));
    requests.forEach((request) => block.send(request));
    const results = [];
    for (const _ of tasks) {
        const answer = await block.ask("receive"), result = packets.answer(answer, tasks);
        results[result.tag] = { ...result, request: requests[result.tag], answer };
    }
    const counts = [await block.register(REQUESTS), await block.register(ANSWERS)];
    block.process.stdin.end();
    process.stdout.write(JSON.stringify({ counts, results }));
}

main(...process.argv.slice(2)).catch((error) => {
    console.error(`client: ${error.message}`);
    process.exit(1);
});
