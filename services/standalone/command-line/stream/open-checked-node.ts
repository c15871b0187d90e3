import { join } from 'node:path';
import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import type { CheckedNode } from '../../../../shared/client/conformance/case-run.ts';
import { CheckedChain } from '../../../../shared/client/conformance/checked-chain.ethers.ts';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { readDevelopmentFile } from '../../development-file.ts';
import { WrongArguments } from '../wrong-arguments.ts';
import { DevelopmentSignIn } from './development-sign-in.ethers.ts';

export interface NodeOptions {
  token?: string;
  eventUrl?: string;
  chainRpc?: string;
  key?: string;
  public?: boolean;
  within: number;
}

const KEY = /^0x[0-9a-fA-F]{64}$/;

/**
 * Opens what a check needs besides the stream's address. What is not given comes from the development start at that
 * address, if there is one on this machine.
 * @throws WrongArguments, which names what is missing; CannotStart if something does not answer
 */
export const openCheckedNode = async (
  streamUrl: string,
  { token, eventUrl, chainRpc, key, within }: NodeOptions,
): Promise<{ node: CheckedNode; close: () => void }> => {
  const { DATA_DIR } = loadSettings(process.env, {}).settings;
  const found = readDevelopmentFile(DATA_DIR);
  const development = found && isSameAddress(found.streamUrl, streamUrl) ? found : undefined;
  const made = {
    token: token ?? (development && 'signs in'),
    eventUrl: eventUrl ?? development?.eventUrl,
    chainRpc: chainRpc ?? development?.rpcUrl,
    key: key ?? development?.token?.ownerKey,
  };
  const { eventUrl: catcher, chainRpc: rpc, key: account } = made;
  if (!made.token || !catcher || !rpc || !account)
    throw new WrongArguments(missingText(made, { file: join(DATA_DIR, 'dev.json'), found, streamUrl }));
  if (!KEY.test(account))
    throw new WrongArguments('--key is not a private key, 0x and 64 hex digits, and no file has this name');
  const withinMs = within * 1_000;
  await Promise.all([requireAnswer(streamUrl), requireAnswer(catcher)]);
  const chain = await CheckedChain.open(rpc, account, withinMs);
  return {
    // A development start answers at other names too, such as localhost, but only one is its own origin.
    node: {
      streamUrl: development?.streamUrl ?? streamUrl,
      eventUrl: catcher,
      token: tokenSource(token, development),
      chain,
      withinMs,
    },
    close: () => {
      chain.close();
    },
  };
};

/** Any answer will do: what it should be is up to the cases. */
const requireAnswer = async (url: string): Promise<void> => {
  try {
    await (await fetch(url)).body?.cancel();
  } catch (cause) {
    throw new CannotStart(`nothing answers at ${url}`, { cause });
  }
};

const tokenSource = (given: string | undefined, development: DevelopmentFile | undefined): (() => Promise<string>) => {
  if (given !== undefined || !development) return () => Promise.resolve(given ?? '');
  const signIn = new DevelopmentSignIn(development);
  return () => signIn.token();
};

const isSameAddress = (one: string, other: string): boolean => {
  const [first, second] = [one, other].map((url) => new URL(url.replace('//localhost', '//127.0.0.1')).origin);
  return first === second;
};

const OPTIONS = { token: '--token', eventUrl: '--event-url', chainRpc: '--chain-rpc', key: '--key' } as const;

const missingText = (
  made: Record<keyof typeof OPTIONS, string | undefined>,
  { file, found, streamUrl }: { file: string; found: DevelopmentFile | undefined; streamUrl: string },
): string => {
  const names = Object.keys(OPTIONS) as (keyof typeof OPTIONS)[];
  const missing = names.filter((name) => !made[name]).map((name) => OPTIONS[name]);
  const reason = !found
    ? `there is no ${file} of a development start`
    : isSameAddress(found.streamUrl, streamUrl)
      ? `${file} has no account with gas`
      : `${file} is of the node at ${found.streamUrl}`;
  return `${reason}, so give ${missing.join(', ')}; see --help`;
};
