import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';
import { swcOptions } from './swc-options.mjs';

// Loaded before a program that is not part of the build, such as a bench: compiles each module as it is imported.
registerHooks({
  load: (url, context, next) => {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    const filename = fileURLToPath(url);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...swcOptions, filename });
    return { format: 'module', source: code, shortCircuit: true };
  },
});
