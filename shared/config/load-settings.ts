import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { CannotStart } from '../errors/cannot-start.ts';
import { refusedInProduction, type WrongSetting } from './production.ts';
import { settingDefinitions, type SettingName, type Settings } from './settings.ts';

export type SettingSource = 'default' | 'environment' | 'file';

export interface LoadedSettings {
  settings: Settings;
  sources: Record<SettingName, SettingSource>;
}

/** Settings that do not fit: all of them at once, each by its name. Values are left out, for they may be secret. */
export class SettingsError extends CannotStart {
  override readonly name = 'SettingsError';
  constructor(readonly wrong: readonly WrongSetting[]) {
    super(wrong.map(({ name, message }) => `${name} ${message}`).join('; '));
  }
}

/** Settings without a default that a process cannot do without. */
export interface Needed {
  always?: readonly SettingName[];
  inProduction?: readonly SettingName[];
}

/**
 * Reads every setting from the environment, else from the file that `ANNALS_ENV_FILE` names, else its default.
 * @param needed what everything together needs, unless less is said: a part is not given secrets that it does not use
 * @throws SettingsError
 */
export const loadSettings = (
  environment: NodeJS.ProcessEnv,
  needed: Needed = { inProduction: ['MASTER_KEY', 'CHAINS'] },
): LoadedSettings => {
  const file = readEnvironmentFile(environment['ANNALS_ENV_FILE']);
  const wrong: WrongSetting[] = [];
  const settings: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  for (const [name, { schema }] of Object.entries(settingDefinitions)) {
    const inEnvironment = environment[name];
    const given = inEnvironment ?? file[name];
    const value = given === '' ? undefined : given;
    sources[name] = value === undefined ? 'default' : inEnvironment === undefined ? 'file' : 'environment';
    const parsed = schema.safeParse(value);
    if (parsed.success) settings[name] = parsed.data;
    else
      wrong.push(...parsed.error.issues.map((issue) => ({ name: pathOf(name, issue.path), message: issue.message })));
  }
  const loaded = { settings: settings as Settings, sources: sources as LoadedSettings['sources'] };
  const unreadable = new Set(wrong.map(({ name }) => name.split('.')[0]));
  const unfit = [...missing(loaded.settings, needed), ...refusedInProduction(loaded.settings)];
  wrong.push(...unfit.filter(({ name }) => !unreadable.has(name)));
  if (wrong.length > 0) throw new SettingsError(wrong);
  return loaded;
};

const readEnvironmentFile = (file: string | undefined): NodeJS.Dict<string> => {
  if (file === undefined || file === '') return {};
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new SettingsError([
      { name: 'ANNALS_ENV_FILE', message: `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}` },
    ]);
  }
};

const pathOf = (name: string, path: readonly PropertyKey[]): string => [name, ...path.map(String)].join('.');

const missing = (settings: Settings, { always = [], inProduction = [] }: Needed): WrongSetting[] => {
  const without = (names: readonly SettingName[], message: string): WrongSetting[] =>
    names.filter((name) => settings[name] === undefined).map((name) => ({ name, message }));
  return [
    ...without(always, 'is required here'),
    ...(settings.NODE_ENV === 'production' ? without(inProduction, 'is required in production') : []),
  ];
};
