import type { LoginMethod } from '../../../schemas/values.ts';
import type { Settings } from '../../../shared/config/settings.ts';

export type MethodSettings = Pick<
  Settings,
  'NODE_ENV' | 'SMTP_URL' | 'MESSENGER_BOT_TOKEN' | 'OAUTH_A' | 'OAUTH_B' | 'OAUTH_C'
>;

/** Outside production a mailbox in memory takes the place of a server that is not set up. */
const isSetUp = (server: string | undefined, { NODE_ENV }: MethodSettings): boolean =>
  server !== undefined || NODE_ENV !== 'production';

/** Whether a method can be used with these settings. */
const methods: readonly [LoginMethod, (settings: MethodSettings) => boolean][] = [
  ['wallet', () => true],
  ['messenger', (settings) => isSetUp(settings.MESSENGER_BOT_TOKEN, settings)],
  ['email', (settings) => isSetUp(settings.SMTP_URL, settings)],
  ['oauth-a', ({ OAUTH_A }) => OAUTH_A !== undefined],
  ['oauth-b', ({ OAUTH_B }) => OAUTH_B !== undefined],
  ['oauth-c', ({ OAUTH_C }) => OAUTH_C !== undefined],
];

export const loginMethodsOf = (settings: MethodSettings): LoginMethod[] =>
  methods.flatMap(([method, isOffered]) => (isOffered(settings) ? method : []));
