import { join } from 'node:path';
import { ZodError, type z } from 'zod';
import { developmentFile, type DevelopmentFile } from '../../schemas/development-file.ts';
import type { SponsorshipPolicy } from '../../schemas/events/account/app-events.ts';
import { readIfThere } from '../../shared/primitives/files/read-if-there.ts';
import { writeFileWhole } from '../../shared/primitives/files/write-file-whole.ts';
import type { AppAdministration } from '../account/app-administration.ts';

const fileOf = (dataFolder: string): string => join(dataFolder, 'dev.json');
const ORIGIN = 'http://localhost:5173';
/** The members that are read again, also from a file of an earlier version. */
const withApp = developmentFile.pick({ app: true });
const withUrl = developmentFile.pick({ accountUrl: true });
const withChain = developmentFile.pick({ chainId: true, rpcUrl: true });

const ETHER = 10n ** 18n;
/** The development app's policy on a local chain, where gas costs nothing. */
const LOCAL_POLICY: SponsorshipPolicy = {
  dayWei: String(100n * ETHER),
  userDayWei: String(10n * ETHER),
  operationWei: String(ETHER / 10n),
  allow: [],
  anySession: false,
};

/**
 * Returns the app of the last start if it can still log in, else a new one. Only this file has its signing key. Allows
 * its bot, and on the local chain, if any, lets it pay for operations, unless it has another policy there.
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

/** Returns what the last development start wrote for clients; `undefined` if there was none. */
export const readDevelopmentFile = (dataFolder: string): DevelopmentFile | undefined =>
  read(dataFolder, developmentFile);

/** Returns the URL of the account service of the last development start; `undefined` if there was none. */
export const readDevelopmentUrl = (dataFolder: string): string | undefined => read(dataFolder, withUrl)?.accountUrl;

/** Returns the chain of the last development start; `undefined` if there was none. */
export const readDevelopmentChain = (dataFolder: string): z.infer<typeof withChain> | undefined =>
  read(dataFolder, withChain);

const read = <Schema extends z.ZodType>(dataFolder: string, schema: Schema): z.infer<Schema> | undefined => {
  const text = readIfThere(fileOf(dataFolder));
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ZodError) return undefined;
    throw error;
  }
};
