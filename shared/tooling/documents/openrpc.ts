import { z } from 'zod';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import { rpcMethods } from '../../../schemas/rpc/rpc-methods.ts';

/** Returns the OpenRPC document of `POST /rpc`. */
export const openRpcDocument = (): object => ({
  openrpc: '1.3.2',
  info: {
    title: 'Annals JSON-RPC',
    version: '1',
    description:
      'A bundler (ERC-7769) and a paymaster (ERC-7677) of EntryPoint v0.7, at POST /rpc with a bearer token.',
  },
  servers: [{ name: 'with the default settings', url: 'http://127.0.0.1:3000/rpc' }],
  methods: Object.entries(rpcMethods).map(([name, { summary, params, result }]) => ({
    name,
    summary,
    paramStructure: 'by-position',
    params: Object.entries<z.ZodType>(params).map(([param, schema]) => ({
      name: param,
      required: !schema.safeParse(undefined).success,
      schema: jsonSchemaOf(schema, 'input'),
    })),
    result: { name: 'result', schema: jsonSchemaOf(result, 'output') },
    errors: Object.entries(rpcCodes).map(([error]) => ({ $ref: `#/components/errors/${error}` })),
  })),
  components: {
    errors: Object.fromEntries(
      Object.entries(rpcCodes).map(([error, code]) => [
        error,
        { code, message: MESSAGES[error as keyof typeof rpcCodes] },
      ]),
    ),
  },
});

const MESSAGES: Record<keyof typeof rpcCodes, string> = {
  parseError: 'the body is not JSON',
  invalidRequest: 'it is not a request',
  methodNotFound: 'there is no such method',
  invalidParams: 'params do not fit, or fit no block, or the nonce has an operation that this one does not outbid',
  internalError: 'what this needs does not answer',
  validationRefused: 'validation refused it; the message holds the AA text of the EntryPoint',
  paymasterRefused: 'the paymaster refused it, or a rule of the policy that should pay',
  expired: 'a signature is not due, or expires within 30 s',
  throttled: 'the sender, factory or paymaster has too many operations pending, or reverted a bundle',
  signatureWrong: 'the signature is not that of the account',
  depositTooLow: 'the deposit of the paymaster does not cover all that is pending',
  callReverts: 'estimate: the call reverts; the reason is in the message',
};

const jsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output'): object => {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return jsonSchema;
};
