import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const CLIENT = { clientId: 'annals', clientSecret: 'a-secret-of-the-client' };

/** Starts oidc-provider as a process of its own, with one client. */
export const startOpenIdProvider = async ({ redirectUri }: { redirectUri: string }) => {
  const file = join(import.meta.dirname, 'main.ts');
  const { clientId, clientSecret } = CLIENT;
  const child = fork(file, ['0', clientId, clientSecret, redirectUri], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [],
  });
  const [issuer] = (await once(child, 'message')) as [string];
  return {
    issuer,
    settings: { issuer, ...CLIENT, audiences: [`${clientId}-app`] },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
};
