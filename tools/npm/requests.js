// Schemas of requests, made from the package's types: `export interface PlanRequest` of shardscope.d.ts is the request of `plan`. A
// comment before a key describes it, and a key that is a setting of a Run has the setting's schema.
import { readFileSync } from 'node:fs';

const declarations = readFileSync(new URL('../shardscope.d.ts', import.meta.url), 'utf8');

/** The words, signs and comments of a declaration, up to the end of its brackets. */
function tokensOf(start) {
  const from = declarations.indexOf(start);
  if (from < 0) return null;
  const tokens = [];
  let depth = 0;
  for (const [token] of declarations.slice(from + start.length).matchAll(/\/\*\*[^]*?\*\/|"[^"]*"|\w+|\S/g)) {
    if ('{[('.includes(token)) depth += 1;
    if ('}])'.includes(token)) depth -= 1;
    if (token === ';' && depth === 0) break;
    tokens.push(token);
    if (token === '}' && depth === 0) break;
  }
  return tokens;
}

/** A comment as one line. */
const words = (comment) => comment.slice(3, -2).replace(/\s*\n\s*\*\s*/g, ' ').trim();

/** Reads types from tokens; `known` has the schemas of names that are no interface and of settings. */
class Reader {
  constructor(tokens, known) {
    Object.assign(this, { tokens: [...tokens], known });
  }

  take(token) {
    if (this.tokens[0] !== token) return false;
    this.tokens.shift();
    return true;
  }

  type() {
    const options = [];
    do options.push(this.one()); while (this.take('|'));
    const texts = options.filter((option) => option.const !== undefined).map((option) => option.const);
    const rest = options.filter((option) => option.const === undefined);
    if (texts.length > 0) rest.push({ type: 'string', enum: texts });
    return rest.length === 1 ? rest[0] : { anyOf: rest };
  }

  one() {
    let type;
    if (this.take('(')) {
      type = this.type();
      this.take(')');
    } else if (this.take('{')) type = this.members();
    else type = this.named(this.tokens.shift());
    while (this.take('[')) {
      this.take(']');
      type = { type: 'array', items: type };
    }
    return type;
  }

  named(name) {
    if (name.startsWith('"')) return { const: JSON.parse(name) };
    const plain = { number: { type: 'number', minimum: 0 }, Count: { type: 'integer', minimum: 1 }, string: { type: 'string' },
      boolean: { type: 'boolean' }, unknown: {}, ...this.known.types };
    return plain[name] ?? schemaOf(name, this.known);
  }

  members() {
    const schema = { type: 'object', properties: {}, required: [] };
    while (!this.take('}')) {
      const about = this.tokens[0].startsWith('/**') ? words(this.tokens.shift()) : '';
      const key = this.tokens.shift();
      if (key === '[') {
        // Any name, as in `{ [name: string]: string }`.
        this.tokens.splice(0, this.tokens.indexOf(':', 2) + 1);
        this.type();
      } else {
        if (!this.take('?')) schema.required.push(key);
        this.take(':');
        const type = { ...this.type(), ...this.known.settings(key) };
        const description = [about, type.description].filter(Boolean).join('; ');
        schema.properties[key] = description ? { ...type, description } : type;
      }
      this.take(';');
    }
    return schema;
  }
}

/** The schema of interface `name`. */
export function schemaOf(name, known) {
  const tokens = tokensOf(`export interface ${name} `);
  if (tokens === null) throw new Error(`no interface ${name} in shardscope.d.ts`);
  return new Reader(tokens, known).type();
}
