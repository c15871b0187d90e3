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

/** What everything together needs; a part is not given secrets that it does not use. */
const neededByAll: Needed = { inProduction: ['MASTER_KEY', 'CHAINS'] };

/**
 * Reads every setting from the environment, else from the file that `ANNALS_ENV_FILE` names, else its default.
 * @throws SettingsError
 */
export const loadSettings = (environment: NodeJS.ProcessEnv, needed = neededByAll): LoadedSettings => {
  const { wrong, ...loaded } = checkSettings(environment, needed);
  if (wrong.length > 0) throw new SettingsError(wrong);
  return loaded;
};

/** The same of settings that need not fit: those that do not are absent, and named in `wrong`. */
export const checkSettings = (
  environment: NodeJS.ProcessEnv,
  needed = neededByAll,
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
    const parsed = schema.safeParse(value);
    if (parsed.success) settings[name] = parsed.data;
    else
      wrong.push(...parsed.error.issues.map((issue) => ({ name: pathOf(name, issue.path), message: issue.message })));
  }
  const loaded = { settings: settings as Settings, sources: sources as LoadedSettings['sources'] };
  // What is missing may be in the file that cannot be read.
  if (wrong.some(({ name }) => name === 'ANNALS_ENV_FILE')) return { ...loaded, wrong };
  const unreadable = new Set(wrong.map(({ name }) => name.split('.')[0]));
  const unfit = [...missing(loaded.settings, needed), ...refusedInProduction(loaded.settings)];
  wrong.push(...unfit.filter(({ name }) => !unreadable.has(name)));
  return { ...loaded, wrong };
};

/** What was set and has no effect yet: settings, and members of their JSON as paths. */
export const withoutEffect = ({ settings, sources }: LoadedSettings): string[] =>
  Object.entries(settingDefinitions).flatMap(([key, { noEffectYet }]) => {
    const name = key as SettingName;
    if (sources[name] === 'default') return [];
    return noEffectYet === true ? [name] : membersIn(settings[name], noEffectYet, [name]);
  });

const membersIn = (value: unknown, members: readonly string[], path: readonly string[]): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    members.includes(key) ? [[...path, key].join('.')] : membersIn(inner, members, [...path, key]),
  );
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

const missing = (settings: Settings, { always = [], inProduction = [] }: Needed): WrongSetting[] => {
  const without = (names: readonly SettingName[], message: string): WrongSetting[] =>
    names.filter((name) => settings[name] === undefined).map((name) => ({ name, message }));
  return [
    ...without(always, 'is required here'),
    ...(settings.NODE_ENV === 'production' ? without(inProduction, 'is required in production') : []),
  ];
};
