import { z } from 'zod';

/** What the types are written from. */
type JsonSchema = z.core.JSONSchema.JSONSchema;
type Io = 'input' | 'output';

const PLAIN: Record<string, string> = {
  ...{ string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null' },
};
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/**
 * Returns the TypeScript of a schema: what is given to it (`input`), or what comes out of it. A number that a query has as text is
 * written as the number. Descriptions become comments.
 * @param open how names of members begin that are not listed
 */
export const typescriptOf = (schema: z.ZodType, io: Io, open?: string): string =>
  typeOf(jsonSchemaOf(schema, io), open);

const jsonSchemaOf = (schema: z.ZodType, io: Io): JsonSchema =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'pipe' && io === 'input')
        Object.assign(jsonSchema, z.toJSONSchema(def.out, { unrepresentable: 'any' }));
    },
  });

const typeOf = (schema: JsonSchema | boolean, open?: string): string => {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never';
  const { anyOf, oneOf, allOf, type, items, prefixItems } = schema;
  if (schema.$ref !== undefined) return refOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choice = anyOf ?? oneOf;
  if (choice) return union(choice.map((one) => typeOf(one)));
  if (allOf) return allOf.map((one) => `(${typeOf(one)})`).join(' & ');
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one })));
  if (type === 'array') {
    if (Array.isArray(prefixItems)) return `[${prefixItems.map((one) => typeOf(one)).join(', ')}]`;
    return `Array<${Array.isArray(items) ? 'unknown' : typeOf(items ?? true)}>`;
  }
  if (type === 'object') return objectOf(schema, open);
  return PLAIN[type ?? ''] ?? 'unknown';
};

/** A schema that has itself as a part is that of any JSON. */
const refOf = (ref: string): string => {
  if (ref === '#' || ref.startsWith('#/$defs/')) return 'unknown';
  throw new Error(`the schema ${ref} has no name in TypeScript`);
};

const objectOf = ({ properties = {}, required = [], additionalProperties }: JsonSchema, open?: string): string => {
  const members = Object.entries(properties).map(([name, member]) => {
    const isRequired = required.includes(name);
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(name);
    const comment = typeof member === 'object' ? commentOf(member.description) : '';
    return `${comment}${key}${isRequired ? '' : '?'}: ${typeOf(member)}${isRequired ? '' : ' | undefined'};`;
  });
  if (open !== undefined) members.push(`[name: \`${open}\${string}\`]: unknown;`);
  else if (typeof additionalProperties === 'object') {
    members.push(`[name: string]: ${Object.keys(properties).length === 0 ? typeOf(additionalProperties) : 'unknown'};`);
  }
  return members.length === 0 ? 'Record<string, unknown>' : `{\n${members.join('\n')}\n}`;
};

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

export const commentOf = (text: string | undefined): string =>
  text === undefined ? '' : `/** ${text.replaceAll('*/', '* /')} */\n`;
