import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ZodError, type z } from 'zod';
import { developmentFile, type DevelopmentFile } from '../../schemas/development-file.ts';
import type { SponsorshipPolicy } from '../../schemas/events/app-events.ts';
import { nodeErrorCode } from '../../shared/errors/node-error-code.ts';
import { writeFileWhole } from '../../shared/primitives/write-file-whole.ts';
import type { AppAdministration } from '../account/app-administration.ts';

const fileOf = (dataFolder: string): string => join(dataFolder, 'dev.json');
const ORIGIN = 'http://localhost:5173';
/** What is read again, also of a file that an earlier version wrote. */
const withApp = developmentFile.pick({ app: true });
const withChain = developmentFile.pick({ chainId: true, rpcUrl: true });

const ETHER = 10n ** 18n;
/** The development app's on a local chain, where nobody has to pay for anything. */
const LOCAL_POLICY: SponsorshipPolicy = {
  dayWei: String(100n * ETHER),
  userDayWei: String(10n * ETHER),
  operationWei: String(ETHER / 10n),
  allow: [],
  anySession: false,
};

/**
 * Returns the app of the last start if it can still log in, else a new one. Only this file has its signing key. Its bot is
 * allowed, and it pays for operations on the local chain, if there is one; another policy that it has there stays.
 */
export const ensureDevelopmentApp = async (
  apps: AppAdministration,
  { dataFolder, localChainId }: { dataFolder: string; localChainId: number | undefined },
): Promise<DevelopmentFile['app']> => {
  const known = read(dataFolder, withApp)?.app;
  const app = known && (await apps.accepts(known)) ? known : await registerApp(apps);
  const { policies } = await apps.change(app.id, { allowBot: true });
  if (localChainId !== undefined && !policies[localChainId]) {
    await apps.change(app.id, { chainId: localChainId, policy: LOCAL_POLICY });
  }
  return app;
};

const registerApp = async (apps: AppAdministration): Promise<DevelopmentFile['app']> => {
  const redirectUris = [`${ORIGIN}/callback`];
  const { id, apiKey, signingKey, origins } = await apps.register({
    name: 'Development',
    origins: [ORIGIN],
    redirectUris,
    scheme: 'v1',
  });
  return { id, apiKey, signingKey, origin: origins[0] ?? ORIGIN, redirectUris };
};

export const writeDevelopmentFile = (dataFolder: string, contents: DevelopmentFile): void => {
  writeFileWhole(fileOf(dataFolder), `${JSON.stringify(contents, null, 2)}\n`, 0o600);
};

/** Returns the chain of the last development start; `undefined` where there was none. */
export const readDevelopmentChain = (dataFolder: string): z.infer<typeof withChain> | undefined =>
  read(dataFolder, withChain);

const read = <Schema extends z.ZodType>(dataFolder: string, schema: Schema): z.infer<Schema> | undefined => {
  try {
    return schema.parse(JSON.parse(readFileSync(fileOf(dataFolder), 'utf8')));
  } catch (error) {
    const isDamaged = error instanceof SyntaxError || error instanceof ZodError;
    if (isDamaged || nodeErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};
