import { z } from 'zod';
import { address, addressInput, blockNumber, chainId, contractInput, isoTime } from '../../values.ts';
import { route } from '../route.ts';

const gateway = { service: 'event-catcher', auth: 'none' } as const;

export const gatewayNode = z.object({
  id: z.string(),
  address: address.describe('what a client signs to be let in'),
  domain: z.string().describe('where the routes of the event catcher are'),
  rpcDomain: z.string().describe('where the stream is'),
  chainIds: z.array(chainId),
  headBlock: blockNumber.nullable().describe('of the chain that was asked for, or of the only one; null if unknown'),
  connections: z.int().nonnegative(),
  partitions: z
    .array(z.int().nonnegative())
    .describe('of the topic of chain events: those that it reads at present, because somebody asks for them'),
  healthy: z
    .boolean()
    .describe(
      'whether domain and rpcDomain answer, and the chain that was asked for, else each of chainIds, is followed',
    ),
});
export type GatewayNode = z.infer<typeof gatewayNode>;

/** The text that a client signs by EIP-191 to be let in at a node: an app by a signing key or its server key, or a user by a wallet. */
export const streamAccessText = ({ node, timestamp }: { node: string; timestamp: string }): string =>
  `Annals stream access\nnode: ${node}\ntime: ${timestamp}`;

/** RFC 3339 in UTC: `Z`, or an offset of zero. */
const utcTime = z.iso
  .datetime({ offset: true, error: 'is not an RFC 3339 time', abort: true })
  .regex(/(Z|[+-]00:00)$/, 'is not UTC');

export const gatewayRoutes = {
  listNodes: route({
    ...gateway,
    method: 'GET',
    path: '/api/v1/gateway/nodes',
    summary: 'The nodes at which events are streamed',
    query: z.object({
      chainId: z.coerce.number().pipe(chainId).optional(),
      contractAddress: contractInput
        .describe(
          'with chainId: the nodes come in the order in which a client of this contract should try them. Clients of one ' +
            'contract then meet at one node, and those of different contracts spread over all',
        )
        .optional(),
    }),
    status: 200,
    answer: z.object({ nodes: z.array(gatewayNode) }),
    problems: [],
  }),
  validateAccess: route({
    ...gateway,
    method: 'POST',
    path: '/api/v1/gateway/validate',
    summary: 'A token that registers contracts and opens the stream at one node',
    command: true,
    signedBody: ['signature'],
    body: z.object({
      node: addressInput.describe('the address of a node, as it was signed'),
      timestamp: utcTime.describe('RFC 3339 in UTC, as it was signed; within 60 s of now'),
      signature: z
        .string()
        .describe(
          'by EIP-191 over "Annals stream access\\nnode: {node}\\ntime: {timestamp}"; accepted once; ' +
            'the signing key of an app, its server key, or a wallet that is linked to a user',
        ),
    }),
    status: 201,
    answer: z.object({ success: z.literal(true), connectionToken: z.string(), expiresAt: isoTime }),
    problems: [
      'signature_malformed',
      'timestamp_out_of_window',
      'app_signature_invalid',
      'request_replayed',
      'not_caught_up',
    ],
  }),
};
