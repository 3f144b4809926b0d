(function_definition) @def.function
(program (variable_assignment) @def.variable)
(program (declaration_command (variable_assignment) @def.variable))

(comment) @comment
(command name: (command_name (word) @_source) (#any-of? @_source "source" ".")) @import
(command name: (command_name (word) @call))
(function_definition name: (word) @id)
((command name: (command_name (word) @id)) (#match? @id "^[A-Za-z_]"))
((variable_name) @id (#match? @id "^[A-Za-z_]"))
