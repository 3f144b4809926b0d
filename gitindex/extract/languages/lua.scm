(function_declaration) @def.function
(assignment_statement (variable_list . name: (_)) (expression_list . value: (function_definition))) @def.function
(chunk (assignment_statement) @def.variable)
(chunk (variable_declaration (assignment_statement) @def.variable))

(comment) @comment
(function_call name: (identifier) arguments: (arguments (string))) @import.call
(function_call name: (_) @call)
(identifier) @id
