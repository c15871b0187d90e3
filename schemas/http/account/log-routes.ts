import { z } from 'zod';
import { route } from '../route.ts';

const log = { service: 'account', method: 'GET', auth: 'none', status: 200, problems: [] } as const;

/** The log of all lasting events, as C2SP tlog-tiles. */
export const logRoutes = {
  logCheckpoint: route({
    ...log,
    path: '/log/checkpoint',
    summary:
      'The size and root of the Merkle tree over all lasting events (C2SP tlog-checkpoint), signed, and cosigned by witnesses',
    answerType: 'text/plain; charset=utf-8',
    answer: z.string().describe('a signed note: origin, size and root, an empty line, and a line for each signature'),
  }),
  logTile: route({
    ...log,
    path: '/log/tile/{level}/{+index}',
    summary: 'Hashes of the Merkle tree (C2SP tlog-tiles)',
    params: z.object({
      level: z.coerce.number().int().min(0).max(6).describe('0 has the leaves'),
      index: z
        .string()
        .max(40)
        .regex(/^(x\d{3}\/)*\d{3}(\.p\/[1-9]\d{0,2})?$/, 'must be groups of three digits, such as x001/234 or 000.p/7')
        .describe(
          'the number of the tile in groups of three digits, all but the last after an x; .p/W at one of W hashes',
        ),
    }),
    answerType: 'application/octet-stream',
    isImmutable: true,
    answer: z.string().describe('256 hashes of 32 bytes, or W'),
    problems: ['route_not_found'],
  }),
  logKey: route({
    ...log,
    path: '/log/key',
    summary: 'The key that signs checkpoints, as a vkey (C2SP signed-note)',
    answerType: 'text/plain; charset=utf-8',
    answer: z.string().describe('<name>+<id>+<base64>'),
  }),
};
