(class_definition) @def.class
(function_definition) @def.function
(module (assignment left: (identifier)) @def.variable)
(class_definition body: (block (assignment left: (identifier)) @def.field))

(decorator) @lead
(comment) @comment
[(import_statement) (import_from_statement) (future_import_statement)] @import
(call function: [(identifier) (attribute)] @call)
(identifier) @id
