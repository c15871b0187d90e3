import { runCommand } from './failure.mjs';
import { launch } from './launch.mjs';

const [program = '', ...args] = process.argv.slice(2);
await runCommand(() => launch(program, args));
