import { z } from 'zod';

/** `<DATA_DIR>/dev.json` of a development start, for clients. Written atomically, readable by its owner alone. */
export const developmentFile = z.object({
  accountUrl: z.url(),
  eventUrl: z.url(),
  streamUrl: z.url(),
  chainId: z.int(),
  rpcUrl: z.url(),
  /** Shows what was sent by email and messenger. */
  mailboxUrl: z.url(),
  app: z.object({
    id: z.string(),
    apiKey: z.string(),
    signingKey: z.string(),
    origin: z.string(),
    redirectUris: z.array(z.string()),
  }),
  /** What the local chain was prepared with; absent when `CHAINS` is set. */
  onchain: z.object({ entryPoint: z.string(), accountFactory: z.string(), paymaster: z.string() }).optional(),
  /** An ERC-20 on the local chain, whose `ownerKey` holds the supply and gas; absent when `CHAINS` is set. */
  token: z.object({ address: z.string(), startBlock: z.int(), ownerKey: z.string() }).optional(),
});
export type DevelopmentFile = z.infer<typeof developmentFile>;
