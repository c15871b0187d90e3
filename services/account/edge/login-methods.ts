import type { LoginMethod } from '../../../schemas/values.ts';
import type { Settings } from '../../../shared/config/settings.ts';

type MethodSettings = Pick<Settings, 'NODE_ENV' | 'SMTP_URL' | 'MESSENGER_BOT_TOKEN'>;

/** Outside production a mailbox in memory takes the place of a server that is not set up. */
const isSetUp = (server: string | undefined, { NODE_ENV }: MethodSettings): boolean =>
  server !== undefined || NODE_ENV !== 'production';

/** Whether a method can be used with these settings. */
const methods: readonly [LoginMethod, (settings: MethodSettings) => boolean][] = [
  ['wallet', () => true],
  ['messenger', (settings) => isSetUp(settings.MESSENGER_BOT_TOKEN, settings)],
  ['email', (settings) => isSetUp(settings.SMTP_URL, settings)],
];

export const loginMethodsOf = (settings: MethodSettings): LoginMethod[] =>
  methods.flatMap(([method, isOffered]) => (isOffered(settings) ? method : []));
