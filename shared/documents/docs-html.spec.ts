import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { docsHtml, type OpenApi } from './docs-html.ts';

const read = (name: string): OpenApi => {
  const file = new URL(`../../schemas/generated/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as OpenApi;
};

describe('the page of a document', () => {
  it.each(['openapi.account', 'openapi.event-catcher', 'openapi.stream'])(
    'of %s has every route, parameter, status and schema',
    (name) => {
      const document = read(name);
      const html = docsHtml(document)
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'");
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const [method, { summary = '', parameters = [], responses = {} }] of Object.entries(operations)) {
          const [, section = ''] = html.split(`<h2><code>${method.toUpperCase()} ${path}</code></h2>`);
          const [own = ''] = section.split('</section>');
          expect(own).toContain(summary);
          for (const parameter of parameters) expect(own).toContain(`<code>${parameter.name ?? ''}</code>`);
          for (const status of Object.keys(responses)) expect(own).toContain(`<b>${status}</b>`);
        }
      }
    },
  );

  it.each(['openapi.account', 'openapi.event-catcher', 'openapi.stream'])('of %s links only to what it has', (name) => {
    const html = docsHtml(read(name));
    const ids = new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
    const links = Array.from(html.matchAll(/href="#([^"]+)"/g), ([, id]) => id);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
    expect(links.length).toBeGreaterThan(0);
  });

  it('runs nothing, and loads nothing', () => {
    const hostile = '<script src="https://evil.example/x.js">&amp;';
    const html = docsHtml({
      info: { title: hostile, description: hostile },
      paths: {
        [`/${hostile}`]: { get: { summary: hostile, parameters: [{ name: hostile, schema: { a: hostile } }] } },
      },
      components: { schemas: { [hostile]: { description: hostile } } },
    });
    expect(html).not.toMatch(/<script|<link|<img|<iframe/);
    expect(html).toContain('&lt;script src=&quot;https://evil.example/x.js&quot;&gt;&amp;amp;');
  });

  it('shows what a reference names', () => {
    const document = {
      info: { title: 'A' },
      paths: { '/a': { get: { parameters: [{ $ref: '#/components/parameters/Take' }] } } },
      components: { parameters: { Take: { name: 'take', in: 'query', required: true, description: 'how many' } } },
    };
    expect(docsHtml(document)).toContain('<code>take</code><td>query, required<td>how many');
  });
});
