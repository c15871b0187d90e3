import { Argument, type Command } from 'commander';
import { command, print, type Json } from './command.ts';
import { maskUrl } from '../../../shared/config/mask-url.ts';
import { requiredByService, serviceNames, type ServiceName } from '../../../shared/config/services.ts';
import { settingDefinitions, type SettingName } from '../../../shared/config/settings.ts';
import { checkSettings, loadSettings, type LoadedSettings } from '../../../shared/config/load-settings.ts';

interface PrintedSetting {
  name: string;
  value: unknown;
  source: string;
  meaning: string;
}

export const configCommand = (): Command =>
  command('config', 'shows or checks the settings that this process would run with')
    .addCommand(
      command('print', 'lists every setting with its value, source and meaning; secrets masked', 'config print --json')
        .option('--json', 'for machines')
        .action(({ json }: { json?: boolean }) => {
          // No setting is required here: each service checks its own when it starts.
          const printed = printable(loadSettings(process.env, {}));
          process.stdout.write(json ? `${JSON.stringify(printed, null, 2)}\n` : printed.map(toLine).join(''));
        }),
    )
    .addCommand(
      command('check', 'exits with 1 and names every wrong setting', 'config check', 'config check relay')
        .addArgument(new Argument('[service]', 'as a process of its own; default: all in one').choices(serviceNames))
        .option('--json', 'for machines')
        .action((service: ServiceName | undefined, options: Json) => {
          const { wrong } = checkSettings(process.env, service && requiredByService[service]);
          if (wrong.length > 0) process.exitCode = 1;
          const lines = wrong.map(({ name, message }) => `${name} ${message}`);
          print(options, { ok: wrong.length === 0, wrong }, lines.join('\n') || 'every setting is valid');
        }),
    );

export const printable = ({ settings, sources }: LoadedSettings): PrintedSetting[] =>
  Object.entries(settingDefinitions).map(([name, { meaning, secret }]) => {
    const value = settings[name as SettingName] ?? null;
    const shown = value === null || secret === false ? value : secret === true ? '********' : withoutKeys(value);
    return { name, value: shown, source: sources[name as SettingName], meaning };
  });

const withoutKeys = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'string' && part.includes('://') ? maskUrl(part) : part,
    ),
  );

const toLine = ({ name, value, source, meaning }: PrintedSetting): string => {
  const shown = value === null ? '(none)' : typeof value === 'string' ? value : JSON.stringify(value);
  return `${name.padEnd(24)} ${shown.padEnd(24)} ${source.padEnd(12)} ${meaning}\n`;
};
