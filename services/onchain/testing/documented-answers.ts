import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const FILE = join(import.meta.dirname, '../../../schemas/generated/openrpc.json');

interface OpenRpcDocument {
  methods: readonly {
    name: string;
    result: { schema: Parameters<typeof z.fromJSONSchema>[0] };
    errors: readonly { $ref: string }[];
  }[];
  components: { errors: Readonly<Record<string, { code: number }>> };
}

const document = JSON.parse(readFileSync(FILE, 'utf8')) as OpenRpcDocument;
const methods = new Map(
  document.methods.map(({ name, result, errors }) => {
    const codes = errors.map(({ $ref }) => document.components.errors[$ref.replace('#/components/errors/', '')]?.code);
    return [name, { result: z.fromJSONSchema(result.schema), codes: new Set(codes) }] as const;
  }),
);

/** Throws unless the OpenRPC document allows this answer of a method. */
export const requireDocumented = (method: string, answer: { result?: unknown; error?: { code: number } }): void => {
  const known = methods.get(method);
  if (!known) throw new Error(`${method} is not in the OpenRPC document`);
  const { result, error } = answer;
  if (error && !known.codes.has(error.code))
    throw new Error(`${method}: the code ${String(error.code)} is not in the OpenRPC document`);
  if (!error) known.result.parse(result);
};
