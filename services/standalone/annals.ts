import { annalsCommand } from './command-line/annals-command.ts';
import { runCommandLine } from './command-line/run-command-line.ts';

await runCommandLine(await annalsCommand(process.argv[2]));
