import { join } from 'node:path';
import { v2Text } from '../../../schemas/http/app-signature.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { chainAdministration } from '../../onchain/chain-administration.ts';
import { chainsOf, startAccountUnderTest, ORIGIN } from '../../account/testing/account-under-test.ethers.ts';
import { BotApi } from '../../account/testing/bot-api.ts';
import { HostileProvider } from '../../account/testing/hostile-provider.jose.ts';
import type { Caller } from './fuzz-request.ts';
import { projected } from './projected.ts';

export const REDIRECT_URI = `${ORIGIN}/callback`;
const CLIENT = { clientId: 'annals', clientSecret: 'a-secret-of-the-client' };
/** Every so many requests are signed whole. */
const V2_EVERY = 16;

const ETHER = 10n ** 18n;

/** The account service with a projector, a chain, a messenger and two login providers that confirm whoever comes. */
export const startAccountUnderFuzzing = async (folder: string) => {
  const bot = await new BotApi().start();
  const [openId, plain] = await Promise.all(['a', 'b'].map(() => new HostileProvider(CLIENT.clientId).start()));
  if (!openId || !plain) throw new Error('a provider is missing');
  const anvil = await Anvil.start(join(folder, 'chain'));
  const settings = {
    ...bot.settings,
    CHAINS: chainsOf([Anvil.chainId, anvil.rpcUrl]),
    OAUTH_A: JSON.stringify({ issuer: openId.issuer, ...CLIENT }),
    OAUTH_B: JSON.stringify({
      authorizationEndpoint: `${plain.issuer}/login`,
      tokenEndpoint: `${plain.issuer}/token`,
      userInfoEndpoint: `${plain.issuer}/me`,
      ...CLIENT,
      subject: 'sub',
    }),
  };
  const account = await startAccountUnderTest(folder, settings);
  const app = await account.register({ redirectUris: [REDIRECT_URI] });
  await account.apps.change(app.id, { allowBot: true });
  const { foundation } = account;
  for (const chain of foundation.settings.CHAINS ?? []) {
    const funding = { funderKey: LOCAL_FUNDER_KEY, depositWei: 100n * ETHER, executorWei: ETHER };
    await chainAdministration(foundation).prepare(chain, { ...funding, executors: 1 });
  }
  const { projector, caughtUp } = projected(foundation);

  let signed = 0;
  const byApp: Caller = (sent) => {
    signed += 1;
    return signed % V2_EVERY === 0 ? wholeBy(app, sent) : account.appHeaders({}, app);
  };
  const server = { ...app, signingKey: (await account.apps.createServerKey(app.id)).newKey };
  const byServer: Caller = (sent) => {
    signed += 1;
    return wholeBy(server, sent);
  };
  /** Each signature is taken once, so no two requests have the same time. */
  const wholeBy = (signer: typeof app, { method, path, body }: Parameters<Caller>[0]) => {
    const timestamp = String(account.clock.now() - signed);
    const bodyHash = sha256(body ?? '');
    const { apiKey } = app;
    const text = v2Text({ method, url: path, origin: ORIGIN, timestamp, apiKey, bodyHash });
    return { 'x-api-key': apiKey, origin: ORIGIN, 'x-timestamp': timestamp, 'x-signature': account.sign(text, signer) };
  };

  return {
    ...account,
    app,
    anvil,
    bot,
    byApp,
    byServer,
    caughtUp,
    providers: { 'oauth-a': openId, 'oauth-b': plain },
    close: async () => {
      await account.service.close();
      await projector.close();
      await Promise.all([bot.stop(), openId.stop(), plain.stop(), anvil.stop()]);
    },
  };
};
export type AccountUnderFuzzing = Awaited<ReturnType<typeof startAccountUnderFuzzing>>;
