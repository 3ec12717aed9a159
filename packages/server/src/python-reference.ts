/** `model.py` or `model.py:Name`: the file of a Python model, and the object in it. */
export interface PythonReference {
  readonly file: string;
  /** The class, function or variable. Undefined: the only one in the file. */
  readonly object: string | undefined;
}

const REFERENCE = /^(.*\.py)(?::([\p{L}_][\p{L}\p{N}_]*))?$/su;

/** Undefined for anything but a Python file. */
export function pythonReference(path: string): PythonReference | undefined {
  const [, file, object] = REFERENCE.exec(path) ?? [];
  return file === undefined ? undefined : { file, object };
}
