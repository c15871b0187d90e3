import { htmlOf } from '../../../shared/primitives/text/html-text.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}
article{border-top:1px solid #8888;margin-top:1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}:root{color-scheme:light dark}`;

/** Returns a page of a development start. @param title as text @param body as HTML */
export const developmentPage = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${htmlOf(title)}</title>
<style>${STYLE}</style>
<h1>${htmlOf(title)}</h1>
${body}
</html>
`;
