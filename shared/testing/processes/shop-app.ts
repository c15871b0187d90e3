import { z } from 'zod';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';

const ORIGIN = 'https://shop.example';

/** The arguments of `annals` that create the app that tests sign in to. */
export const createShopApp: readonly string[] = [
  ...['app', 'create', '--name', 'Shop', '--json'],
  ...['--origin', ORIGIN, '--redirect-uri', `${ORIGIN}/callback`],
];

const created = z.object({
  id: z.string(),
  apiKey: z.string(),
  signingKey: z.string(),
  redirectUris: z.array(z.string()),
});

/** Reads the output of that command. */
export const readShopApp = (said: string): DevelopmentFile['app'] => ({
  ...created.parse(JSON.parse(said)),
  origin: ORIGIN,
});
