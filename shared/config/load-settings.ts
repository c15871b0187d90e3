import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { CannotStart } from '../errors/cannot-start.ts';
import { plainText } from '../errors/plain-text.ts';
import { refusedInProduction, type WrongSetting } from './production.ts';
import { settingDefinitions, type SettingName, type Settings } from './settings.ts';

export type SettingSource = 'default' | 'environment' | 'file';

export interface LoadedSettings {
  settings: Settings;
  sources: Record<SettingName, SettingSource>;
}

/** Names every setting that is not valid, without its value, which may be secret. */
export class SettingsError extends CannotStart {
  override readonly name = 'SettingsError';
  constructor(readonly wrong: readonly WrongSetting[]) {
    super(wrong.map(({ name, message }) => `${name} ${message}`).join('; '));
  }
}

/** Settings without a default that a process requires. */
export interface RequiredSettings {
  always?: readonly SettingName[];
  inProduction?: readonly SettingName[];
}

/** Default for a process that runs all services. A single service starts without the secrets that it does not use. */
const requiredByAllServices: RequiredSettings = { inProduction: ['MASTER_KEY', 'CHAINS'] };

/**
 * Loads every setting: from the environment, else from the file that `ANNALS_ENV_FILE` names, else its default.
 * @throws SettingsError
 */
export const loadSettings = (environment: NodeJS.ProcessEnv, required = requiredByAllServices): LoadedSettings => {
  const { wrong, ...loaded } = checkSettings(environment, required);
  if (wrong.length > 0) throw new SettingsError(wrong);
  return loaded;
};

/** Like `loadSettings`, but leaves out settings that are not valid and names them in `wrong`. */
export const checkSettings = (
  environment: NodeJS.ProcessEnv,
  required = requiredByAllServices,
): LoadedSettings & { wrong: readonly WrongSetting[] } => {
  const wrong: WrongSetting[] = [];
  const file = readEnvironmentFile(environment['ANNALS_ENV_FILE'], (message) => {
    wrong.push({ name: 'ANNALS_ENV_FILE', message });
  });
  const settings: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  for (const [name, { schema }] of Object.entries(settingDefinitions)) {
    const inEnvironment = environment[name];
    const given = inEnvironment ?? file[name];
    const value = given === '' ? undefined : given;
    sources[name] = value === undefined ? 'default' : inEnvironment === undefined ? 'file' : 'environment';
    const parsed = schema.safeParse(value, { error: plainText });
    if (parsed.success) settings[name] = parsed.data;
    else
      wrong.push(...parsed.error.issues.map((issue) => ({ name: pathOf(name, issue.path), message: issue.message })));
  }
  const loaded = { settings: settings as Settings, sources: sources as LoadedSettings['sources'] };
  // A missing setting may stand in the file that could not be read: report the file alone.
  if (wrong.some(({ name }) => name === 'ANNALS_ENV_FILE')) return { ...loaded, wrong };
  const reported = new Set(wrong.map(({ name }) => name.split('.')[0]));
  const refused = [
    ...missing(loaded.settings, required),
    ...missingBeside(loaded.settings),
    ...refusedInProduction(loaded.settings),
  ];
  wrong.push(...refused.filter(({ name }) => !reported.has(name)));
  return { ...loaded, wrong };
};

const readEnvironmentFile = (file: string | undefined, refuse: (message: string) => void): NodeJS.Dict<string> => {
  if (file === undefined || file === '') return {};
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (cause) {
    refuse(`cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
    return {};
  }
};

const pathOf = (name: string, path: readonly PropertyKey[]): string => [name, ...path.map(String)].join('.');

/** `MASTER_KEY` replaces a missing `EDGE_KEY`. */
const hasInstead = ({ MASTER_KEY }: Settings, name: SettingName): boolean =>
  name === 'EDGE_KEY' && MASTER_KEY !== undefined;

const missing = (settings: Settings, { always = [], inProduction = [] }: RequiredSettings): WrongSetting[] => {
  const without = (names: readonly SettingName[], message: string): WrongSetting[] =>
    names
      .filter((name) => settings[name] === undefined && !hasInstead(settings, name))
      .map((name) => ({ name, message }));
  return [
    ...without(always, 'is required here'),
    ...(settings.NODE_ENV === 'production' ? without(inProduction, 'is required in production') : []),
  ];
};

/** Settings that are useless without others. */
const usedTogether: readonly { name: SettingName; needs: readonly SettingName[] }[] = [
  { name: 'SMTP_URL', needs: ['MAIL_FROM'] },
  { name: 'MESSENGER_BOT_TOKEN', needs: ['MESSENGER_BOT_NAME', 'MESSENGER_WEBHOOK_SECRET'] },
];

const missingBeside = (settings: Settings): WrongSetting[] =>
  usedTogether
    .filter(({ name }) => settings[name] !== undefined)
    .flatMap(({ name, needs }) =>
      needs
        .filter((needed) => settings[needed] === undefined)
        .map((needed) => ({ name: needed, message: `is required with ${name}` })),
    );
