import { Command } from 'commander';
import { maskUrl } from '../../../shared/config/mask-url.ts';
import { settingDefinitions, type SettingName } from '../../../shared/config/settings.ts';
import { loadSettings, SettingsError, type LoadedSettings } from '../../../shared/config/load-settings.ts';

interface PrintedSetting {
  name: string;
  value: unknown;
  source: string;
  meaning: string;
}

export const configCommand = (): Command =>
  new Command('config')
    .description('what this process would run with')
    .addCommand(
      new Command('print')
        .description('lists every setting with its value, source and meaning; secrets masked')
        .option('--json', 'for machines')
        .action(({ json }: { json?: boolean }) => {
          // It shows what there is: what each service needs, and what is missing, is another question.
          const printed = printable(loadSettings(process.env, {}));
          process.stdout.write(json ? `${JSON.stringify(printed, null, 2)}\n` : printed.map(toLine).join(''));
        }),
    )
    .addCommand(
      new Command('check')
        .description('exits with 1 and names every wrong setting')
        .option('--json', 'for machines')
        .action(({ json }: { json?: boolean }) => {
          const wrong = wrongSettings();
          if (wrong.length > 0) process.exitCode = 1;
          if (json) process.stdout.write(`${JSON.stringify({ ok: wrong.length === 0, wrong })}\n`);
          else
            process.stdout.write(
              wrong.map(({ name, message }) => `${name} ${message}\n`).join('') || 'every setting fits\n',
            );
        }),
    );

const wrongSettings = () => {
  try {
    loadSettings(process.env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.wrong;
    throw error;
  }
};

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
  return `${name.padEnd(18)} ${shown.padEnd(24)} ${source.padEnd(12)} ${meaning}\n`;
};
