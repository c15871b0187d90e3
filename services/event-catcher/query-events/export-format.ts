import type { EventRecord } from '../../../schemas/http/event-record.ts';

/** The media types of everything that matches, besides JSON, which has pages. */
export type ExportFormat = 'application/x-ndjson' | 'text/csv';

const JSON_TYPES = ['application/json', 'application/*', '*/*'];
const TYPES: Readonly<Record<string, ExportFormat | 'json'>> = {
  ...Object.fromEntries(JSON_TYPES.map((type) => [type, 'json' as const])),
  'application/x-ndjson': 'application/x-ndjson',
  'text/csv': 'text/csv',
};

/** Returns the format that the header `Accept` prefers, the first of several; `undefined` for pages of JSON. */
export const exportFormat = (accept: string | undefined): ExportFormat | undefined => {
  let preferred: { format: ExportFormat | 'json'; weight: number } | undefined;
  for (const range of accept?.split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const format = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (format && weight > (preferred?.weight ?? 0)) preferred = { format, weight };
  }
  return preferred && preferred.format !== 'json' ? preferred.format : undefined;
};

/** What an export in this format begins with, and what it has of each record. */
export interface WrittenFormat {
  contentType: string;
  head: string;
  line: (record: EventRecord) => string;
}

const COLUMNS = [
  ...['Id', 'WatchId', 'ChainId', 'ContractAddress', 'EventName', 'EventSignature', 'BlockNumber', 'BlockHash'],
  ...['BlockTime', 'TxHash', 'TxIndex', 'LogIndex', 'Data', 'Status', 'Origin'],
] as const satisfies readonly (keyof EventRecord)[];

const field = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/**
 * A spreadsheet takes a cell that begins with a sign such as `=` for a formula. No field begins so: `Data`, the only one
 * that whoever emits an event can choose, is a JSON object; and one that takes a semicolon for the end of a field finds none.
 */
const csvLine = (record: EventRecord): string => {
  const fields = COLUMNS.map((column) =>
    field(column === 'Data' ? JSON.stringify(record.Data).replaceAll(';', '\\u003b') : String(record[column])),
  );
  return `${fields.join(',')}\r\n`;
};

export const exportFormats: Readonly<Record<ExportFormat, WrittenFormat>> = {
  'application/x-ndjson': {
    contentType: 'application/x-ndjson',
    head: '',
    line: (record) => `${JSON.stringify(record)}\n`,
  },
  'text/csv': {
    contentType: 'text/csv; charset=utf-8; header=present',
    head: `${COLUMNS.join(',')}\r\n`,
    line: csvLine,
  },
};
