import { z } from 'zod';
import { rpcAnswer, rpcBody, rpcInvalid } from '../../rpc/rpc-messages.ts';
import { route } from '../route.ts';

const MEBIBYTE = 1_048_576;

export const rpcRoutes = {
  rpc: route({
    service: 'account',
    method: 'POST',
    path: '/rpc',
    summary: 'JSON-RPC of a bundler and of a paymaster (ERC-7769, ERC-7677); see openrpc.json',
    auth: 'bearer',
    appTokens: true,
    rateLimit: 'rpc',
    // What they hold is read as members of the request are, so that it is refused as they are.
    query: z.object({
      chainID: z
        .unknown()
        .optional()
        .meta({ override: { type: 'string', description: 'for a request without it' } }),
      apiKey: z
        .unknown()
        .optional()
        .meta({ override: { type: 'string', description: 'for a request without it' } }),
    }),
    body: rpcBody,
    readsBody: { bytesMax: MEBIBYTE, invalid: rpcInvalid },
    status: 200,
    answer: rpcAnswer,
    problems: ['api_key_unknown', 'app_revoked'],
  }),
};
