(function_declaration) @def.function
(generator_function_declaration) @def.function
(class_declaration) @def.class
(method_definition) @def.method
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @def.function
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression) (generator_function)]) @def.function
(program (lexical_declaration (variable_declarator name: (identifier)) @def.variable))
(program (variable_declaration (variable_declarator name: (identifier)) @def.variable))
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier)) @def.variable)))

(comment) @comment
(decorator) @lead
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) arguments: (arguments . (string) .)) @import.call
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
[(identifier) (property_identifier) (private_property_identifier) (shorthand_property_identifier) (shorthand_property_identifier_pattern) (statement_identifier)] @id
