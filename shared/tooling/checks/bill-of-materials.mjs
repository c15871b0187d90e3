import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {Partial<Record<'dependencies' | 'devDependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>>} Requirements */
/** @typedef {Requirements & { version?: string, integrity?: string, license?: string, dev?: boolean, optional?: boolean }} Package */
/** @typedef {{ name: string, version: string, packages: Record<string, Package> }} Lockfile */

/** Each with the packages of one place: the program's, and Node's. */
const LOCKFILES = ['package-lock.json', '.node/package-lock.json'];

/** @param {string} folder of an installed package, perhaps within another's */
const nameIn = (folder) => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);

/**
 * @param {string} name
 * @param {string} version
 */
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** @param {string} integrity as npm writes it: `sha512-` and base64 */
const hashOf = (integrity) => ({
  alg: 'SHA-512',
  content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
});

/** @param {string} license */
const licenseOf = (license) =>
  / (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } };

/** @param {Package} found */
const scopeOf = ({ dev, optional }) => {
  if (dev === true) return 'excluded';
  return optional === true ? 'optional' : 'required';
};

/**
 * Finds the folder of the package that another one gets by a name, as Node does: in its own folder first, then upwards.
 * @param {Record<string, Package>} packages
 * @param {string} from
 * @param {string} name
 */
const folderOf = (packages, from, name) => {
  for (let parent = from; ; parent = parent.slice(0, Math.max(0, parent.lastIndexOf('node_modules/') - 1))) {
    const folder = `${parent === '' ? '' : `${parent}/`}node_modules/${name}`;
    if (packages[folder]) return folder;
    if (parent === '') return undefined;
  }
};

/**
 * @param {Lockfile} lockfile
 * @param {string} own the reference of what has these packages
 */
const partsOf = ({ packages }, own) => {
  /** @param {string} folder */
  const referenceTo = (folder) => (folder === '' ? own : purlOf(nameIn(folder), packages[folder]?.version ?? ''));
  const components = Object.entries(packages)
    .filter(([folder]) => folder !== '')
    .map(([folder, found]) => ({
      type: 'library',
      'bom-ref': referenceTo(folder),
      name: nameIn(folder),
      version: found.version,
      scope: scopeOf(found),
      purl: referenceTo(folder),
      ...(found.integrity === undefined ? {} : { hashes: [hashOf(found.integrity)] }),
      ...(found.license === undefined ? {} : { licenses: [licenseOf(found.license)] }),
    }));
  const dependencies = Object.entries(packages).map(([folder, found]) => {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = found;
    const required = { ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies };
    const names = Object.keys(required);
    const folders = names.map((name) => folderOf(packages, folder, name)).filter((one) => one !== undefined);
    return { ref: referenceTo(folder), dependsOn: [...new Set(folders.map(referenceTo))].sort() };
  });
  return { components, dependencies };
};

/** The widest scope first. */
const SCOPES = ['required', 'optional', 'excluded'];

/**
 * Returns the bill of materials of the packages in lockfiles as CycloneDX 1.6, the same text for the same lockfiles.
 * What only development needs is `excluded`. A package that is installed twice is one component.
 * @param {readonly [Lockfile, ...Lockfile[]]} lockfiles
 */
export const billOfMaterials = (lockfiles) => {
  const [{ name, version }] = lockfiles;
  const own = purlOf(name, version);
  const parts = lockfiles.map((lockfile) => partsOf(lockfile, own));
  /** @type {Map<string, ReturnType<typeof partsOf>['components'][number]>} */
  const components = new Map();
  for (const component of parts.flatMap((part) => part.components)) {
    const known = components.get(component.purl);
    if (known && SCOPES.indexOf(known.scope) <= SCOPES.indexOf(component.scope)) continue;
    components.set(component.purl, component);
  }
  /** @type {Map<string, Set<string>>} */
  const dependencies = new Map();
  for (const { ref, dependsOn } of parts.flatMap((part) => part.dependencies)) {
    dependencies.set(ref, new Set([...(dependencies.get(ref) ?? []), ...dependsOn]));
  }
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': own, name, version, purl: own } },
    components: [...components.keys()].sort().map((purl) => components.get(purl)),
    dependencies: [...dependencies.keys()]
      .sort()
      .map((ref) => ({ ref, dependsOn: [...(dependencies.get(ref) ?? [])].sort() })),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
};

/** @param {string} root */
export const readLockfiles = (root) => {
  const read = LOCKFILES.map((file) => /** @type {Lockfile} */ (JSON.parse(readFileSync(join(root, file), 'utf8'))));
  return /** @type {[Lockfile, ...Lockfile[]]} */ (read);
};
