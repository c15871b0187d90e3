import { z } from 'zod';
import { anyJson, type JsonValue } from '../json.ts';
import { chainId } from '../values.ts';

export const CHAIN_ID_DEFAULT = 2484;
export const REQUESTS_MAX = 50;

const id = anyJson.optional().describe('echoed as given; null where it is absent');

/** One call: the body of the specification, 2.5. `chainID` and `apiKey` may stand in the query instead. */
export const rpcRequest = z.object({
  jsonrpc: z.literal('2.0').default('2.0'),
  id,
  method: z.string(),
  params: z.array(anyJson).default([]),
  chainID: chainId.default(CHAIN_ID_DEFAULT),
  apiKey: z.string().min(1).max(128).describe('of the app whose sponsorship pays'),
});
export type RpcRequest = z.output<typeof rpcRequest>;

/** The codes of JSON-RPC 2.0 and ERC-7769 that are answered. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  validationRefused: -32_500,
  paymasterRefused: -32_501,
  expired: -32_503,
  throttled: -32_504,
  signatureWrong: -32_507,
  depositTooLow: -32_508,
  callReverts: -32_521,
} as const;
export type RpcCode = (typeof rpcCodes)[keyof typeof rpcCodes];

export const rpcFailure = z.object({
  jsonrpc: z.literal('2.0'),
  id: anyJson,
  error: z.object({
    code: z.literal(Object.values(rpcCodes)),
    message: z.string(),
    data: z.record(z.string(), anyJson).exactOptional(),
  }),
});
export type RpcFailure = z.infer<typeof rpcFailure>;

interface RpcSuccess {
  jsonrpc: '2.0';
  id: JsonValue;
  result: JsonValue;
}
export type RpcResponse = RpcSuccess | RpcFailure;

/** A call as a body has it, which may leave to the query who pays. */
export const rpcCall = rpcRequest.extend({
  apiKey: rpcRequest.shape.apiKey.exactOptional().describe('of the app whose sponsorship pays; here or in the query'),
});
/** Either response as one object, because clients are generated without members where an answer is one of two. */
export const rpcResponse = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: anyJson,
    result: anyJson.optional().describe('of a call that succeeded, as openrpc.json says of its method'),
    error: rpcFailure.shape.error.exactOptional().describe('in place of result'),
  })
  .refine(({ result, error }) => (result === undefined) !== (error === undefined), 'has either result or error');

const oneOrBatch = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([schema, z.array(schema).min(1).max(REQUESTS_MAX)]);

export const rpcBody = oneOrBatch(rpcCall).describe('a call, or an array of up to 50');
export const rpcAnswer = oneOrBatch(rpcResponse).describe(
  'a response, or of an array one for each request, in their order',
);
export const rpcInvalid = oneOrBatch(rpcFailure).describe('what was not JSON-RPC: code -32700 or -32600');
