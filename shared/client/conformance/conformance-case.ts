import { readdirSync, readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { CannotStart } from '../../errors/cannot-start.ts';
import { json, type Json } from './json-value.ts';
import { stepsByName, type StepName } from './steps/steps.ts';

/** What not every node and chain has. A case that needs it is skipped elsewhere. */
export type Need = 'development chain' | (typeof CHAIN_NEEDS)[number];

const CHAIN_NEEDS = ['private chain', 'public chain'] as const;

/** A promise of the stream, and the steps that find out whether a node keeps it. */
export interface ConformanceCase {
  id: string;
  title: string;
  /** In the words of the interface. */
  promise: string;
  needs: ReadonlySet<Need>;
  /** Whether a contract of its own is deployed and registered before its steps. */
  hasContract: boolean;
  /** Values that its steps refer to by name. */
  values: Record<string, Json>;
  steps: readonly CaseStep[];
}

export interface CaseStep {
  name: StepName;
  parameters: unknown;
}

/** A file of cases is wrong. The message says where, and what is right. */
export class WrongCase extends CannotStart {
  override readonly name = 'WrongCase';
}

const FOLDER = new URL('.', import.meta.url);

const caseInFile = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+$/, 'is lower-case letters, digits and -'),
  title: z.string().min(1),
  promise: z.string().min(1),
  needs: z.array(z.enum(CHAIN_NEEDS)).default([]),
  contract: z.enum(['registered', 'none']).default('registered'),
  /** The case is run once for each of these ways to read. */
  over: z.array(z.enum(['socket', 'server-sent events', 'pages'])).optional(),
  steps: z.array(z.record(z.string(), json)).min(1),
});
type CaseInFile = z.infer<typeof caseInFile>;

/** Returns every case of this folder, in the order of files and in each of them. @throws WrongCase */
export const readCases = (): ConformanceCase[] => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));
  return files.sort().flatMap((file) => casesIn(file, readFileSync(new URL(file, FOLDER), 'utf8')));
};

/** @param file `resume.yaml`: its cases have ids that begin with `resume/` @throws WrongCase */
export const casesIn = (file: string, text: string): ConformanceCase[] => {
  const document = parseDocument(text, { merge: true });
  const [syntax] = document.errors;
  if (syntax) throw new WrongCase(`${file} is not YAML: ${syntax.message}`);
  const found: unknown = document.toJS();
  if (!Array.isArray(found)) throw new WrongCase(`${file} must be a list of cases`);
  const ids = new Set<string>();
  return found.flatMap((one: unknown, index) => {
    const where = `${file}, case ${String(index + 1)}`;
    const parsed = parsedAs(caseInFile, one, where);
    if (ids.has(parsed.id)) throw new WrongCase(`${where}: another case has the id ${parsed.id}`);
    ids.add(parsed.id);
    return variantsOf(parsed, file.replace(/\.yaml$/, ''), where);
  });
};

const variantsOf = (found: CaseInFile, group: string, where: string): ConformanceCase[] => {
  const { id, title, promise, contract } = found;
  const steps = found.steps.map((step, index) => stepOf(step, `${where} (${id}), step ${String(index + 1)}`));
  const needs = new Set<Need>(found.needs);
  for (const { name } of steps) if (stepsByName[name].needsDevelopmentChain) needs.add('development chain');
  const made = { promise, needs, hasContract: contract === 'registered', steps };
  if (!found.over) return [{ ...made, id: `${group}/${id}`, title, values: {} }];
  return found.over.map((over) => ({
    ...made,
    id: `${group}/${id}-${over.replaceAll(' ', '-')}`,
    title: `${title} (${over})`,
    values: { over },
  }));
};

const stepOf = (step: Record<string, Json>, where: string): CaseStep => {
  const [[name, parameters] = ['', null], ...more] = Object.entries(step);
  if (more.length > 0) throw new WrongCase(`${where}: has ${Object.keys(step).join(', ')}; a step has one name`);
  if (!isStepName(name))
    throw new WrongCase(`${where}: there is no step ${name}, only ${Object.keys(stepsByName).join(', ')}`);
  return { name, parameters: parsedAs(stepsByName[name].schema, parameters ?? {}, `${where}, ${name}`) };
};

const isStepName = (name: string): name is StepName => Object.hasOwn(stepsByName, name);

const parsedAs = <Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new WrongCase(`${where}: ${problems.join('; ')}`);
};
