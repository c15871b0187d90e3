import type { EventRecord } from '../../../schemas/http/event-catcher/event-record.ts';
import { preferredType } from '../../../shared/edge/requests/preferred-type.ts';

/** The media types of an answer: those of exports, and JSON, which has pages. */
export type ExportFormat = 'application/x-ndjson' | 'text/csv';

const FORMATS: readonly ExportFormat[] = ['application/x-ndjson', 'text/csv'];

/** Returns the format that the header `Accept` prefers; `undefined` for pages of JSON. */
export const exportFormat = (accept: string | undefined): ExportFormat | undefined => preferredType(accept, FORMATS);

/** The beginning of an export in this format, and its text for each record. */
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
 * A spreadsheet takes a cell that begins with a sign such as `=` for a formula. No field begins with one: `Data`, the
 * only field that the sender of an event can choose, is a JSON object. Nor does a spreadsheet that splits fields at
 * semicolons find one.
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
