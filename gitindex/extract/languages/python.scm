(class_definition) @def.class
(function_definition) @def.function
(module (assignment left: (identifier)) @def.variable)
(class_definition body: (block (assignment left: (identifier)) @def.field))

(decorator) @lead
(comment) @comment
[(import_statement) (import_from_statement) (future_import_statement)] @import
(call function: [(identifier) (attribute)] @call)

; Identifiers are what is left without these.
[(string) (comment) (format_specifier) (type_conversion)] @hide
["print" "exec" "type" "match" "case" "_"] @hide
[(interpolation) (format_expression)] @show
