import { v2Text } from '../../../schemas/http/app-signature.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { startAccountUnderTest, ORIGIN } from '../../account/testing/account-under-test.ethers.ts';
import { BotApi } from '../../account/testing/bot-api.ts';
import { HostileProvider } from '../../account/testing/hostile-provider.jose.ts';
import type { Caller } from './fuzz-request.ts';
import { projected } from './projected.ts';

export const REDIRECT_URI = `${ORIGIN}/callback`;
const CLIENT = { clientId: 'annals', clientSecret: 'a-secret-of-the-client' };
/** Every so many requests are signed whole. */
const V2_EVERY = 16;

/** The account service with a projector, a messenger and two login providers that confirm whoever comes. */
export const startAccountUnderFuzzing = async (folder: string) => {
  const bot = await new BotApi().start();
  const [openId, plain] = await Promise.all(['a', 'b'].map(() => new HostileProvider(CLIENT.clientId).start()));
  if (!openId || !plain) throw new Error('a provider is missing');
  const settings = {
    ...bot.settings,
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
  const { projector, caughtUp } = projected(foundation);

  let signed = 0;
  const byApp: Caller = ({ method, path, body }) => {
    signed += 1;
    if (signed % V2_EVERY !== 0) return account.appHeaders({}, app);
    // Each signature is taken once, so no two requests have the same time.
    const timestamp = String(account.clock.now() - signed);
    const bodyHash = sha256(body ?? '');
    const { apiKey } = app;
    const text = v2Text({ method, url: path, origin: ORIGIN, timestamp, apiKey, bodyHash });
    return { 'x-api-key': apiKey, origin: ORIGIN, 'x-timestamp': timestamp, 'x-signature': account.sign(text, app) };
  };

  return {
    ...account,
    app,
    bot,
    byApp,
    caughtUp,
    providers: { 'oauth-a': openId, 'oauth-b': plain },
    close: async () => {
      await account.service.close();
      await projector.close();
      await Promise.all([bot.stop(), openId.stop(), plain.stop()]);
    },
  };
};
export type AccountUnderFuzzing = Awaited<ReturnType<typeof startAccountUnderFuzzing>>;
