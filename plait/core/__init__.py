"""What a Program is: types, equations, interpreters and how a function becomes one."""
