import { describe, expect, it } from '@jest/globals';
import type { EventRecord } from '../../../schemas/http/event-catcher/event-record.ts';
import { transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { exportFormat, exportFormats } from './export-format.ts';

describe('the format that a caller accepts', () => {
  it.each<[string | undefined, string | undefined]>([
    [undefined, undefined],
    ['', undefined],
    ['*/*', undefined],
    ['application/json', undefined],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', undefined],
    ['text/csv', 'text/csv'],
    ['Text/CSV; charset=utf-8', 'text/csv'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/x-ndjson, application/json;q=0.5', 'application/x-ndjson'],
    ['application/json;q=0.5 , text/csv;q=0.6', 'text/csv'],
    ['application/json, text/csv', undefined],
    ['text/csv, application/x-ndjson', 'text/csv'],
    ['text/csv;q=0, */*;q=0.1', undefined],
    ['text/csv;q=0', undefined],
    ['text/csv;q=x', undefined],
    ['constructor', undefined],
    [`text/csv${','.repeat(10_000)}`, 'text/csv'],
  ])('of %j is %s', (accept, format) => {
    expect(exportFormat(accept)).toBe(format);
  });
});

describe('a line of CSV', () => {
  const line = (Data: EventRecord['Data']) =>
    exportFormats['text/csv'].line({ ...transferRecord(), WatchId: 'wch_1', Data, Status: 'observed' });

  it('has a field for each column, and quotes what needs it', () => {
    const { Id, BlockHash, TxHash, ContractAddress } = transferRecord();
    expect(line({ text: 'a "b", c' })).toBe(
      [
        ...[Id, 'wch_1', '2484', ContractAddress, 'Transfer', '"Transfer(address indexed,address indexed,uint256)"'],
        ...['10', BlockHash, '2026-01-01T00:00:00.000Z', TxHash, '0', '0'],
        ...['"{""text"":""a \\""b\\"", c""}"', 'observed', 'backfill\r\n'],
      ].join(','),
    );
  });

  it.each([',', ';', '\t', '\n', '\r\n'])('has no field that begins a formula, also if %j ends fields', (separator) => {
    const signs = ['=', '+', '-', '@'];
    const Data = Object.fromEntries(signs.map((sign, at) => [`a${String(at)}`, `x${separator}${sign}cmd`]));
    const unquoted = line(Data).replaceAll(/"[^"]*"/g, separator === ',' ? 'quoted' : '$&');
    for (const field of unquoted.split(separator)) expect(signs).not.toContain(field.trim()[0]);
  });
});
