import { Wallet } from 'ethers';
import type { DevelopmentFile } from '../../schemas/development-file.ts';
import { createClient, type AnnalsClient, type ClientOptions } from '../../shared/client/annals-client.ts';

/** Returns a client of a development start's app, which signs its requests, with a session of its own in memory. */
export const developmentClient = (
  development: DevelopmentFile,
  options: Pick<ClientOptions, 'repeats'> = {},
): AnnalsClient => {
  const { apiKey, origin, signingKey } = development.app;
  const signer = new Wallet(signingKey);
  const signRequest = ({ text }: { text: string }) => signer.signMessage(text);
  return createClient({ ...development, apiKey, origin, signRequest, ...options });
};
