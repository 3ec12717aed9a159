/**
 * The services as reflection is to describe them. The loader's own descriptions leave names short and call
 * the entries of a map after its field; strict readers of descriptors (grpcurl, everything on C++ or Go)
 * refuse both. Here names are full, and entries are called as protoc calls them.
 */
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';

interface FieldDescription {
  name: string;
  typeName?: string;
  jsonName?: string;
}

interface MessageDescription {
  name: string;
  field?: FieldDescription[];
  nestedType?: MessageDescription[];
  enumType?: { name: string }[];
  options?: { mapEntry?: boolean };
}

interface FileDescription {
  package?: string;
  messageType?: MessageDescription[];
  enumType?: { name: string }[];
  service?: { method?: { inputType: string; outputType: string }[] }[];
}

type FileCodec = MessageTypeDefinition<FileDescription, FileDescription>;

export function reflectedPackage(packages: PackageDefinition): PackageDefinition {
  const codec = loadSync('google/protobuf/descriptor.proto')[
    'google.protobuf.FileDescriptorProto'
  ] as FileCodec;
  const described: Record<string, PackageDefinition[string]> = {};
  for (const [name, definition] of Object.entries(packages)) {
    if (!isMessage(definition)) continue;
    const fileDescriptorProtos = definition.fileDescriptorProtos.map((bytes) => {
      const file = codec.deserialize(bytes);
      complete(file);
      return codec.serialize(file);
    });
    described[name] = { ...definition, fileDescriptorProtos };
    // Each has all of the files.
    break;
  }
  return described;
}

function isMessage(
  definition: PackageDefinition[string],
): definition is MessageTypeDefinition<object, object> {
  return 'fileDescriptorProtos' in definition;
}

function complete(file: FileDescription): void {
  const root = file.package ? `.${file.package}` : '';
  const names = new Set<string>();
  for (const { name } of file.enumType ?? []) names.add(`${root}.${name}`);
  for (const message of file.messageType ?? []) collect(message, root, names);
  for (const message of file.messageType ?? []) completeMessage(message, root, names);
  for (const { method = [] } of file.service ?? []) {
    for (const call of method) {
      call.inputType = fullName(call.inputType, root, names);
      call.outputType = fullName(call.outputType, root, names);
    }
  }
}

/** Renames the entries of maps on the way. */
function collect(message: MessageDescription, scope: string, names: Set<string>): void {
  if (message.options?.mapEntry) message.name += 'Entry';
  const self = `${scope}.${message.name}`;
  names.add(self);
  for (const { name } of message.enumType ?? []) names.add(`${self}.${name}`);
  for (const nested of message.nestedType ?? []) collect(nested, self, names);
}

function completeMessage(message: MessageDescription, scope: string, names: ReadonlySet<string>): void {
  const self = `${scope}.${message.name}`;
  for (const field of message.field ?? []) {
    field.jsonName = field.name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    if (field.typeName) field.typeName = fullName(field.typeName, self, names);
  }
  for (const nested of message.nestedType ?? []) completeMessage(nested, self, names);
}

/** Looked for as protobuf does, from the inside out; in a map's place, its entry. */
function fullName(name: string, scope: string, names: ReadonlySet<string>): string {
  if (name.startsWith('.')) return name;
  for (let at = scope; ; at = at.slice(0, at.lastIndexOf('.'))) {
    const candidate = `${at}.${name}`;
    if (names.has(candidate)) return candidate;
    if (names.has(`${candidate}Entry`)) return `${candidate}Entry`;
    if (at === '') throw new Error(`no type ${name} in ${scope}`);
  }
}
