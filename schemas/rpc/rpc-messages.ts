import { z } from 'zod';
import { anyJson } from '../json.ts';
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

const rpcSuccess = z.object({ jsonrpc: z.literal('2.0'), id: anyJson, result: anyJson });
export type RpcResponse = z.infer<typeof rpcSuccess> | RpcFailure;

export const rpcBody = z.union([rpcRequest, z.array(rpcRequest).min(1).max(REQUESTS_MAX)]);
const response = z.union([rpcSuccess, rpcFailure]);
export const rpcAnswer = z
  .union([response, z.array(response).min(1).max(REQUESTS_MAX)])
  .describe('a response, or of an array one for each request, in their order');
export const rpcInvalid = z
  .union([rpcFailure, z.array(rpcFailure)])
  .describe('what was not JSON-RPC: code -32700 or -32600');
