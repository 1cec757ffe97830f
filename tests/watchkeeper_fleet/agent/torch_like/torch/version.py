__version__ = "2.14.1+cu130"
cuda = "13.0"
hip = None
