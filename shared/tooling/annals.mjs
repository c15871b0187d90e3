#!/usr/bin/env node
import { runCommand } from './failure.mjs';
import { launch } from './launch.mjs';

await runCommand(() => launch('services/standalone/annals.js', process.argv.slice(2)));
