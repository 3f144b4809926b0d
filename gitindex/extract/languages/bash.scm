(function_definition) @def.function
(program (variable_assignment) @def.variable)
(program (declaration_command (variable_assignment) @def.variable))

(comment) @comment
(command name: (command_name (word)) argument: (_)) @import.call
(command name: (command_name (word) @call))
(function_definition name: (word) @id)
(command name: (command_name (word) @id))
(variable_name) @id
