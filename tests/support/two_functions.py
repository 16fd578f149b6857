"""An interface of two functions, with requests and answers of two beats and of one."""

from rbdhw.model.interface import FunctionWords, Interface
from tests.support.edge import words

FUNCTIONS = (FunctionWords("id", words(4, 36), words(4, 36)), FunctionWords("m", words(4), words(4)))
INTERFACE = Interface(FUNCTIONS, 64)
